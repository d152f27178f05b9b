#include "proto/support/error.h"
