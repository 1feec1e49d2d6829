//go:build cgo && (android || weightmap_jni)

#include <jni.h>
#include <stdint.h>

// Java_io_github_weightmap_WeightFile_wrap makes a buffer of an address, which Java itself cannot.
JNIEXPORT jobject JNICALL
Java_io_github_weightmap_WeightFile_wrap(JNIEnv *env, jclass c, jlong address, jlong size) {
	return (*env)->NewDirectByteBuffer(env, (void *)(intptr_t)address, size);
}
