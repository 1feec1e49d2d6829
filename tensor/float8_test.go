package tensor

import ()
