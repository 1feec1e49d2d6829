package mle
