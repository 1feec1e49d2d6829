package com.example;

import java.nio.ByteBuffer;

public final class Native {
	static { System.loadLibrary("wrap"); } // libwrap.so, the app's own

	public static native ByteBuffer wrap(long address, long size);
}
