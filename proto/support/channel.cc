#include "proto/support/channel.h"
