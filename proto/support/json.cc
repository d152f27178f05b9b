#include "proto/support/json.h"
