package tsr
