package android.content.res;

import java.io.FileInputStream;
import java.io.IOException;

/** AssetManager stands in for Android's class: its one asset is a window of a file. */
public final class AssetManager {
	private final String path;
	private final long offset;
	private final long length;

	public AssetManager(String path, long offset, long length) {
		this.path = path;
		this.offset = offset;
		this.length = length;
	}

	public AssetFileDescriptor openFd(String name) throws IOException {
		return new AssetFileDescriptor(new FileInputStream(path), offset, length);
	}
}
