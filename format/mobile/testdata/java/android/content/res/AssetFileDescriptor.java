package android.content.res;

import android.os.ParcelFileDescriptor;
import java.io.Closeable;
import java.io.FileInputStream;
import java.io.IOException;

/** AssetFileDescriptor stands in for Android's class. */
public class AssetFileDescriptor implements Closeable {
	private final FileInputStream file;
	private final long offset;
	private final long length;

	AssetFileDescriptor(FileInputStream file, long offset, long length) {
		this.file = file;
		this.offset = offset;
		this.length = length;
	}

	public ParcelFileDescriptor getParcelFileDescriptor() {
		return new ParcelFileDescriptor(file);
	}

	public long getStartOffset() {
		return offset;
	}

	public long getLength() {
		return length;
	}

	@Override
	public void close() throws IOException {
		file.close();
	}
}
