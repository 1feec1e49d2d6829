#include <jni.h>
#include <stdint.h>

JNIEXPORT jobject JNICALL
Java_com_example_Native_wrap(JNIEnv *env, jclass c, jlong address, jlong size) {
	return (*env)->NewDirectByteBuffer(env, (void *)(intptr_t)address, size);
}
