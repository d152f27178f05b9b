#include "proto/support/paths.h"
