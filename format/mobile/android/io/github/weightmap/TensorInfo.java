package io.github.weightmap;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;

/** TensorInfo describes one tensor of a model. Two are equal when all they say is equal. */
public final class TensorInfo {
	/** name is the name of the tensor. */
	public final String name;
	/** dtype is the type of the elements, "float32" for example. */
	public final String dtype;
	/** compression names the compression, "gzip" for example; it is empty for plain bytes. */
	public final String compression;
	/** count is the number of elements. */
	public final long count;
	/** byteSize is the number of bytes of all elements. */
	public final long byteSize;
	/** fileOffset is where the data begins in the file, -1 when it is compressed or encrypted. */
	public final long fileOffset;
	/** zeroCopy tells whether a buffer is the memory of the file, not a copy. */
	public final boolean zeroCopy;
	/** quantized tells whether the elements stand for other real numbers. */
	public final boolean quantized;

	private final long[] shape;

	private TensorInfo(ByteBuffer list) {
		name = text(list);
		dtype = text(list);
		compression = text(list);
		shape = new long[(int) list.getLong()];
		for (int i = 0; i < shape.length; i++) {
			shape[i] = list.getLong();
		}
		count = list.getLong();
		byteSize = list.getLong();
		fileOffset = list.getLong();
		long flags = list.getLong();
		zeroCopy = (flags & 1) != 0;
		quantized = (flags & 2) != 0;
	}

	private static String text(ByteBuffer list) {
		byte[] utf8 = new byte[(int) list.getLong()];
		list.get(utf8);
		return new String(utf8, StandardCharsets.UTF_8);
	}

	/** list decodes Model.tensorList. */
	static List<TensorInfo> list(byte[] packed) {
		if (packed == null) { // no tensors
			return Collections.emptyList();
		}
		List<TensorInfo> all = new ArrayList<>();
		for (ByteBuffer list = ByteBuffer.wrap(packed).order(ByteOrder.LITTLE_ENDIAN); list.hasRemaining();) {
			all.add(new TensorInfo(list));
		}
		return Collections.unmodifiableList(all);
	}

	/** shape returns the dims, outermost first; it is empty for a scalar. */
	public long[] shape() {
		return shape.clone();
	}

	@Override
	public boolean equals(Object other) {
		if (!(other instanceof TensorInfo)) {
			return false;
		}
		TensorInfo o = (TensorInfo) other;
		return name.equals(o.name) && dtype.equals(o.dtype) && compression.equals(o.compression)
			&& Arrays.equals(shape, o.shape) && count == o.count && byteSize == o.byteSize
			&& fileOffset == o.fileOffset && zeroCopy == o.zeroCopy && quantized == o.quantized;
	}

	@Override
	public int hashCode() {
		return 31 * name.hashCode() + Arrays.hashCode(shape);
	}

	@Override
	public String toString() {
		return name + " " + dtype + Arrays.toString(shape);
	}
}
