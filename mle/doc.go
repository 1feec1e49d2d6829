// Package mle.
package mle
