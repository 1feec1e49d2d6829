package io.github.weightmap;

import android.content.res.AssetFileDescriptor;
import android.content.res.AssetManager;
import io.github.weightmap.mobile.Canceler;
import io.github.weightmap.mobile.Mobile;
import io.github.weightmap.mobile.Model;
import io.github.weightmap.mobile.Options;
import io.github.weightmap.mobile.Pin;
import io.github.weightmap.mobile.Progress;
import io.github.weightmap.mobile.Report;
import io.github.weightmap.mobile.Tensor;
import java.io.Closeable;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.util.List;

/**
 * WeightFile is an open model whose tensors are buffers. Close it by try-with-resources, or by use in
 * Kotlin. All methods may be called from any thread.
 *
 * <p>Copy this package into the app. For everything else there is model().
 */
public final class WeightFile implements Closeable {
	/** Body uses the buffer of a tensor. */
	public interface Body<B, R> {
		/** use returns what withBytes and withFloats return. The buffer is valid until it returns. */
		R use(B buffer) throws IOException;
	}

	private final Model model;
	private List<TensorInfo> tensors;

	/** WeightFile takes ownership of a model. */
	public WeightFile(Model model) {
		this.model = model;
	}

	/** open maps the file at path. */
	public static WeightFile open(String path) throws WeightmapException {
		return open(path, null);
	}

	/** open maps the file at path; options may be null. */
	public static WeightFile open(String path, Options options) throws WeightmapException {
		return new WeightFile(WeightmapException.call(() -> Mobile.open(path, options)));
	}

	/** openAsset maps an asset, which the package must hold uncompressed. */
	public static WeightFile openAsset(AssetManager assets, String name) throws IOException {
		return openAsset(assets, name, null);
	}

	/** openAsset maps an asset, which the package must hold uncompressed; options may be null. */
	public static WeightFile openAsset(AssetManager assets, String name, Options options) throws IOException {
		try (AssetFileDescriptor asset = assets.openFd(name)) { // the mapping outlives it
			return new WeightFile(WeightmapException.call(() -> Mobile.openDescriptor(asset.getParcelFileDescriptor().getFd(),
				asset.getStartOffset(), asset.getLength(), options)));
		}
	}

	/** model returns the generated class. Its methods throw plain exceptions: see WeightmapException.call. */
	public Model model() {
		return model;
	}

	/** tensors describes all tensors, in file order. */
	public synchronized List<TensorInfo> tensors() {
		if (tensors == null) {
			tensors = TensorInfo.list(model.tensorList());
		}
		return tensors;
	}

	/** verify checks every checksum. It reads the whole file: call it off the main thread. */
	public Report verify() throws WeightmapException {
		return verify(null, null);
	}

	/** verify checks every checksum until canceler or progress ends it. Both may be null. */
	public Report verify(Progress progress, Canceler canceler) throws WeightmapException {
		return WeightmapException.call(() -> model.verify(progress, canceler));
	}

	/**
	 * withBytes passes the elements of a tensor to body, row-major, as a read-only, little-endian buffer
	 * over the file's memory, and returns what body returns. Compressed or misaligned data is copied, once,
	 * into memory that is kept until close. A close meanwhile frees the memory after body.
	 */
	public <R> R withBytes(String name, Body<ByteBuffer, R> body) throws IOException {
		Pin pin = WeightmapException.call(model::pin);
		try {
			return body.use(bytes(name));
		} finally {
			pin.unpin();
		}
	}

	/**
	 * withFloats is like withBytes, for real numbers. Tensors of other dtypes than float32, and quantized
	 * tensors, are converted into an array.
	 */
	public <R> R withFloats(String name, Body<FloatBuffer, R> body) throws IOException {
		Tensor tensor = WeightmapException.call(() -> model.tensorNamed(name));
		if (tensor.dType().equals("float32") && !tensor.quantized()) {
			return withBytes(name, bytes -> body.use(bytes.asFloatBuffer()));
		}
		byte[] copy = WeightmapException.call(tensor::float32Bytes);
		return body.use(readOnly(copy == null ? ByteBuffer.allocate(0) : ByteBuffer.wrap(copy)).asFloatBuffer());
	}

	/** bytes returns the buffer of withBytes for longer: it is valid until close, and reading it later crashes the app. */
	public ByteBuffer bytes(String name) throws IOException {
		Tensor tensor = WeightmapException.call(() -> model.tensorNamed(name));
		long size = tensor.byteSize();
		if (size > Integer.MAX_VALUE) {
			throw new IOException(name + ": a buffer cannot have " + size + " bytes");
		}
		long address = WeightmapException.call(tensor::address);
		return readOnly(address == 0 ? ByteBuffer.allocateDirect(0) : wrap(address, size));
	}

	private static ByteBuffer readOnly(ByteBuffer buffer) {
		return buffer.asReadOnlyBuffer().order(ByteOrder.LITTLE_ENDIAN); // in this order: asReadOnlyBuffer resets the byte order
	}

	/** wrap makes a buffer of an address. It is in libgojni, which the generated classes load. */
	private static native ByteBuffer wrap(long address, long size);

	/** close ends verifications, waits for calls that are reading, and frees the memory. A second call does nothing. */
	@Override
	public void close() throws WeightmapException {
		WeightmapException.call(() -> {
			model.close();
			return null;
		});
	}

	/** equals tells whether both are the same open model. */
	@Override
	public boolean equals(Object other) {
		return other instanceof WeightFile && model.equals(((WeightFile) other).model);
	}

	@Override
	public int hashCode() {
		return model.hashCode();
	}
}
