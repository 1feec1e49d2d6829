package weightmap;

import android.content.res.AssetFileDescriptor;
import android.content.res.AssetManager;
import java.io.Closeable;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.util.List;
import mobile.Mobile;
import mobile.Model;
import mobile.Options;
import mobile.Report;
import mobile.Tensor;

/**
 * WeightFile is an open model whose tensors are buffers: closed by try-with-resources, or use in
 * Kotlin. It may be used from any thread. What it throws is told apart by Mobile.errorCode.
 *
 * <p>Copy this package into the app. Whatever it lacks, model() has.
 */
public final class WeightFile implements Closeable {
	private final Model model;
	private List<TensorInfo> tensors;

	/** WeightFile takes a model over, and closes it. */
	public WeightFile(Model model) {
		this.model = model;
	}

	/** open maps the file at path. */
	public static WeightFile open(String path) throws Exception {
		return new WeightFile(Mobile.open(path, null));
	}

	/**
	 * openAsset maps an asset where it is in the app's package, where it must be stored uncompressed:
	 * androidResources { noCompress += "mobi" }.
	 */
	public static WeightFile openAsset(AssetManager assets, String name, Options options) throws Exception {
		try (AssetFileDescriptor asset = assets.openFd(name)) { // the mapping stays when it is closed
			return new WeightFile(Mobile.openDescriptor(asset.getParcelFileDescriptor().getFd(),
				asset.getStartOffset(), asset.getLength(), options));
		}
	}

	/** openAsset maps an asset without options. */
	public static WeightFile openAsset(AssetManager assets, String name) throws Exception {
		return openAsset(assets, name, null);
	}

	/** model returns the model itself. */
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
	public Report verify() throws Exception {
		return model.verify(null);
	}

	/**
	 * bytes returns the elements of a tensor as they are, row-major: a read-only, little-endian buffer
	 * over the file's own memory. Nothing is copied unless the data is compressed or misaligned; such a
	 * copy is made once. The buffer is dead when this is closed: who reads it then ends the app.
	 */
	public ByteBuffer bytes(String name) throws Exception {
		return buffer(model.tensorNamed(name));
	}

	/**
	 * floats returns the elements of a tensor as real numbers. They are the file's own memory, as with
	 * bytes, where they are stored as float32; other dtypes, and quantized tensors, are converted into
	 * memory of the Java runtime.
	 */
	public FloatBuffer floats(String name) throws Exception {
		Tensor tensor = model.tensorNamed(name);
		ByteBuffer bytes = tensor.dType().equals("float32") && !tensor.quantized()
			? buffer(tensor)
			: ByteBuffer.wrap(tensor.float32Bytes()).asReadOnlyBuffer().order(ByteOrder.LITTLE_ENDIAN);
		return bytes.asFloatBuffer();
	}

	private static ByteBuffer buffer(Tensor tensor) throws Exception {
		long size = tensor.byteSize();
		if (size > Integer.MAX_VALUE) {
			throw new IOException(tensor.name() + ": a buffer cannot have " + size + " bytes");
		}
		long address = tensor.address();
		ByteBuffer bytes = address == 0 ? ByteBuffer.allocateDirect(0) : wrap(address, size);
		return bytes.asReadOnlyBuffer().order(ByteOrder.LITTLE_ENDIAN); // last: asReadOnlyBuffer forgets the order
	}

	/** wrap makes a buffer of an address. It is in libgojni, which the bindings load. */
	private static native ByteBuffer wrap(long address, long size);

	/** close waits for calls that are reading, and ends all buffers. A second one does nothing. */
	@Override
	public void close() throws IOException {
		try {
			model.close();
		} catch (Exception e) {
			throw new IOException(e.getMessage(), e);
		}
	}

	/** equals compares models, not what is in them. */
	@Override
	public boolean equals(Object other) {
		return other instanceof WeightFile && model.equals(((WeightFile) other).model);
	}

	@Override
	public int hashCode() {
		return model.hashCode();
	}
}
