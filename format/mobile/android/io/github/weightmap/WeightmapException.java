package io.github.weightmap;

import io.github.weightmap.mobile.Mobile;
import java.io.IOException;
import java.util.concurrent.Callable;

/** WeightmapException is an error of the library. Its message names format, file, offset and field; its code is for programs. */
public final class WeightmapException extends IOException {
	/** Code is the kind of an error. */
	public enum Code {
		/** The file has no known format. */
		UNKNOWN_FORMAT(Mobile.CodeUnknownFormat),
		/** The file does not have the format named in Options. */
		MAGIC(Mobile.CodeMagic),
		/** The version of the format is not supported. */
		VERSION(Mobile.CodeVersion),
		/** The file ends too early, or was truncated while in use. */
		TRUNCATED(Mobile.CodeTruncated),
		/** The file contradicts itself or its format. */
		CORRUPT(Mobile.CodeCorrupt),
		/** A stored and a computed checksum differ. */
		CHECKSUM(Mobile.CodeChecksum),
		/** The file is unsigned, signed by another key, or was changed after signing. */
		SIGNATURE(Mobile.CodeSignature),
		/** The key is wrong, or the file is encrypted and there is none. */
		KEY(Mobile.CodeKey),
		/** A limit of Options or of the device was exceeded. */
		LIMIT(Mobile.CodeLimit),
		/** The file is valid, but uses what the library does not support. */
		UNSUPPORTED(Mobile.CodeUnsupported),
		/** The quantization parameters are invalid. */
		QUANTIZATION(Mobile.CodeQuantization),
		/** The dtype of the tensor does not convert. */
		DTYPE(Mobile.CodeDType),
		/** A buffer is too small. */
		SHAPE(Mobile.CodeShape),
		/** The model has no tensor of that name. */
		NOT_FOUND(Mobile.CodeNotFound),
		/** Options are invalid. */
		OPTION(Mobile.CodeOption),
		/** An index or offset is out of range. */
		INDEX(Mobile.CodeIndex),
		/** The model was closed. */
		CLOSED(Mobile.CodeClosed),
		/** Canceler or Progress ended the call. */
		CANCELED(Mobile.CodeCanceled),
		/** The system reports an error: no such file, no permission. */
		FILE(Mobile.CodeFile),
		/** Any other error. */
		OTHER(Mobile.CodeOther);

		private final String word;

		Code(String word) {
			this.word = word;
		}

		private static Code of(Exception e) {
			String word = Mobile.errorCode(e);
			for (Code code : values()) {
				if (code.word.equals(word)) {
					return code;
				}
			}
			return OTHER;
		}
	}

	/** code is the kind of this error. */
	public final Code code;

	private WeightmapException(Exception e) {
		super(e.getMessage(), e);
		code = Code.of(e);
	}

	/** call runs a call of the generated classes, such as model().graphJSON(), whose exceptions it converts. */
	public static <T> T call(Callable<T> body) throws WeightmapException {
		try {
			return body.call();
		} catch (RuntimeException e) {
			throw e;
		} catch (Exception e) {
			throw new WeightmapException(e);
		}
	}
}
