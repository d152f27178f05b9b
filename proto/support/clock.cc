#include "proto/support/clock.h"
