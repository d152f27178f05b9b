#include "proto/support/logging.h"
