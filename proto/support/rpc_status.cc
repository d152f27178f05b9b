#include "proto/support/rpc_status.h"
