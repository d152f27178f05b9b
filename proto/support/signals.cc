#include "proto/support/signals.h"
