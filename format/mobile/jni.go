//go:build cgo && (android || weightmap_jni)

package mobile

import "C" // the code in jni.c, which goes into the library that gomobile builds for Android
