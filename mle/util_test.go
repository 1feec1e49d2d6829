package mle

import "github.com/google/go-cmp/cmp/cmpopts"

var equateEmpty = cmpopts.EquateEmpty()
