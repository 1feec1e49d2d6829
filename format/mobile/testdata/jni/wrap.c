/* The one native function that an app adds: a direct ByteBuffer over an address. */
#include <jni.h>
#include <stdint.h>

JNIEXPORT jobject JNICALL Java_app_App_wrap(JNIEnv *env, jclass c, jlong address, jlong size) {
	return (*env)->NewDirectByteBuffer(env, (void *)(intptr_t)address, size);
}
