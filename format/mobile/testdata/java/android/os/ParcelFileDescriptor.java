package android.os;

import java.io.FileDescriptor;
import java.io.FileInputStream;
import java.lang.reflect.Field;

/** ParcelFileDescriptor stands in for Android's class; a desktop JVM hides the number of a descriptor. */
public class ParcelFileDescriptor {
	private final FileInputStream file;

	public ParcelFileDescriptor(FileInputStream file) {
		this.file = file;
	}

	public int getFd() {
		try {
			Field fd = FileDescriptor.class.getDeclaredField("fd");
			fd.setAccessible(true);
			return fd.getInt(file.getFD());
		} catch (Exception e) {
			throw new IllegalStateException(e);
		}
	}
}
