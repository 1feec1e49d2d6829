package app;

import io.github.weightmap.TensorInfo;
import io.github.weightmap.WeightFile;
import io.github.weightmap.WeightmapException;
import io.github.weightmap.mobile.Canceler;
import io.github.weightmap.mobile.Mobile;
import io.github.weightmap.mobile.Model;
import io.github.weightmap.mobile.Options;
import io.github.weightmap.mobile.Progress;
import io.github.weightmap.mobile.Report;
import io.github.weightmap.mobile.Tensor;
import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/** App uses every part of the bindings, as an Android app would. */
public final class App implements Progress {
	private int calls;

	@Override
	public boolean onProgress(long done, long total, String tensor) {
		calls++;
		return done <= total && tensor != null;
	}

	static Model open(String path, byte[] data, int fd, long offset, long length) throws Exception {
		Options options = new Options();
		options.setCheck(Mobile.CheckStructure);
		options.setKey(new byte[32]);
		options.setMaxMemory(1 << 30);
		options.setCanceler(new Canceler());
		if (path != null) {
			return Mobile.open(path, options);
		}
		if (data != null) {
			return Mobile.openBytes(data, null);
		}
		return Mobile.openDescriptor(fd, offset, length, null);
	}

	/** describe reads everything a model says of itself. */
	static String describe(Model model) throws Exception {
		StringBuilder out = new StringBuilder();
		out.append(model.format()).append(' ').append(model.version()).append(' ').append(model.name());
		out.append(' ').append(model.metadataJSON()).append(' ').append(model.graphJSON());
		for (long i = 0; i < model.noteCount(); i++) {
			out.append('\n').append(model.note(i));
		}
		for (long i = 0; i < model.tensorCount(); i++) {
			Tensor t = model.tensorNamed(model.tensorName(i));
			out.append('\n').append(t.name()).append(' ').append(t.dType());
			for (long axis = 0; axis < t.shapeRank(); axis++) {
				out.append(' ').append(t.shapeAt(axis));
			}
			out.append(' ').append(t.shape());
			out.append(' ').append(t.len()).append(' ').append(t.byteSize()).append(' ').append(t.fileOffset());
			out.append(' ').append(t.zeroCopy()).append(t.compression());
			if (t.quantized()) {
				out.append(' ').append(t.quantScheme()).append(t.quantAxis());
				for (long c = 0; c < t.quantCount(); c++) {
					out.append(' ').append(t.quantScale(c)).append(' ').append(t.quantZeroPoint(c));
				}
			}
		}
		return out.toString();
	}

	/** listed says what describe says of the tensors, from one call. */
	static String listed(List<TensorInfo> tensors) {
		StringBuilder out = new StringBuilder();
		for (TensorInfo t : tensors) {
			out.append('\n').append(t).append(' ').append(t.count).append(' ').append(t.byteSize).append(' ').append(t.fileOffset);
			out.append(' ').append(t.zeroCopy).append(t.compression).append(t.quantized).append(t.shape().length);
		}
		return out.toString();
	}

	/** different tells how many different things there are among two models and their tensors. */
	static int different(Model a, Model b) throws Exception {
		Set<Object> all = new HashSet<>();
		for (Model m : new Model[] {a, b, a}) {
			all.add(m);
			for (long i = 0; i < m.tensorCount(); i++) {
				all.add(m.tensor(i));
				all.add(m.tensorNamed(m.tensorName(i)));
			}
		}
		return all.size();
	}

	/** Failing is a call that is to fail. */
	interface Failing {
		void run() throws IOException;
	}

	/** failure returns how a call failed. */
	static Object failure(Failing call) {
		try {
			call.run();
			return "no error";
		} catch (WeightmapException e) {
			return e.code;
		} catch (IOException e) {
			return e;
		}
	}

	/** within closes the model in the middle of a body, which still reads the same values. */
	static float within(WeightFile file, String name) throws IOException {
		return file.withFloats(name, values -> {
			float before = values.get(0);
			file.close();
			if (before != values.get(0)) {
				throw new AssertionError("closed under a body");
			}
			return before;
		});
	}

	/** sum adds up a tensor's values in four ways, which must agree. */
	static double sum(WeightFile file, Tensor t) throws Exception {
		byte[] copy = new byte[(int) t.byteSize()];
		byte[] real = new byte[(int) (4 * t.len())];
		byte[] part = new byte[4];
		if (t.copyTo(copy) != copy.length || t.copyFloat32To(real) != real.length || t.copyRangeTo(part, 0) > 4) {
			throw new AssertionError("lengths");
		}
		if (!Arrays.equals(copy, t.bytes()) || !Arrays.equals(real, t.float32Bytes())) {
			throw new AssertionError("bytes");
		}
		FloatBuffer values = ByteBuffer.wrap(real).order(ByteOrder.LITTLE_ENDIAN).asFloatBuffer();
		if (!file.bytes(t.name()).equals(ByteBuffer.wrap(copy)) || !file.withBytes(t.name(), b -> b.equals(ByteBuffer.wrap(copy)))) {
			throw new AssertionError("buffers");
		}
		float[] elements = new float[(int) t.len()];
		for (int i = 0; i < elements.length; i++) {
			elements[i] = t.float32At(i);
		}
		return file.withFloats(t.name(), direct -> {
			if (!direct.isDirect() || !direct.isReadOnly()) {
				throw new AssertionError("not direct and read-only");
			}
			double sum = 0;
			for (int i = 0; i < elements.length; i++) {
				if (elements[i] != values.get(i) || elements[i] != direct.get(i)) {
					throw new AssertionError("element " + i);
				}
				sum += elements[i];
			}
			return sum;
		});
	}

	public static void main(String[] args) throws Exception {
		App app = new App();
		Model model = open(args[0], null, 0, 0, 0);
		model.prefetch();
		model.verify(app, null);
		Report report = model.verify(null, null);
		System.out.println(describe(model));
		byte[] bytes = Files.readAllBytes(Paths.get(args[0]));
		Model copy = open(null, bytes, 0, 0, 0);
		Arrays.fill(bytes, (byte) 0);
		WeightFile file = new WeightFile(model);
		try (WeightFile second = new WeightFile(copy)) {
			System.out.println("from bytes " + (describe(copy).equals(describe(model)) && sum(second, copy.tensor(0)) == sum(file, model.tensor(0))));
			System.out.println(second.tensors().equals(file.tensors()) + " " + file.equals(second) + " " + file.equals(new WeightFile(model)) + listed(file.tensors()));
			System.out.println(different(model, copy) + " different, converted " + second.<Integer>withFloats("ids", values -> (int) values.get(1)));
		}
		System.out.println("sum " + sum(file, model.tensor(0)) + ", progress " + (app.calls > 0) + ", needs key " + model.needsKey());
		System.out.println(report + ", covered " + report.covered() + ", " + report.uncoveredCount() + report.uncovered(0) + " uncovered, "
			+ report.checksumOf("ids") + ", " + report.signature().equals(Mobile.SignatureNone) + report.signer());
		Tensor kept = model.tensor(0);
		Canceler canceler = new Canceler();
		canceler.cancel();
		System.out.println(failure(() -> file.verify(app, canceler)) + " " + failure(() -> WeightFile.open("/none")) + " " + failure(() -> file.bytes("none"))
			+ " " + failure(() -> WeightmapException.call(() -> model.verifySigned(new byte[3], null, null))));
		EOFException own = new EOFException("the app's");
		System.out.println(Mobile.errorCode(own) + " " + (failure(() -> file.withBytes("ids", b -> { throw own; })) == own));
		System.out.println("within " + (within(WeightFile.open(args[0]), "fc.weight") == kept.float32At(0)));
		file.close();
		file.close();
		System.out.println(failure(() -> file.bytes("ids")) + " " + failure(() -> file.withFloats("ids", values -> 0)));
		try {
			WeightmapException.call(kept::address);
		} catch (WeightmapException e) {
			System.out.println(e.code + ": " + e.getMessage() + " " + Mobile.errorCode((Exception) e.getCause()));
		}
		System.out.println(failure(() -> WeightmapException.call(() -> new Model().tensor(0))));
		System.exit(0); // a thread of the library that called onProgress would keep the JVM waiting
	}
}
