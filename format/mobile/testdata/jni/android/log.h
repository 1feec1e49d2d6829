/* Stands in for Android's header, for gobind's C code on a desktop JVM. */
#pragma once
#include <stdio.h>
#define ANDROID_LOG_INFO 4
#define ANDROID_LOG_FATAL 7
#define __android_log_print(prio, tag, ...) (fprintf(stderr, "%s: ", tag), fprintf(stderr, __VA_ARGS__), fprintf(stderr, "\n"))
