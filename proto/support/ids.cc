#include "proto/support/ids.h"
