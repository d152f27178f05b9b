#include "proto/support/process.h"
