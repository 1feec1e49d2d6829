//go:build cgo && (android || weightmap_jni)

package mobile

import "C" // builds jni.c into the library for Android
