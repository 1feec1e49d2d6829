package mle

import (
	"github.com/google/go-cmp/cmp/cmpopts"
	_ "github.com/weightmap/weightmap/mle/brotli"
)

var equateEmpty = cmpopts.EquateEmpty()
