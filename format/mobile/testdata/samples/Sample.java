package com.example;

import android.content.res.AssetFileDescriptor;
import android.content.res.AssetManager;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import mobile.Mobile;
import mobile.Model;
import mobile.Tensor;

/** Sample hands weights of a model among the app's assets to the app, without a copy. */
public abstract class Sample {
	abstract void run(FloatBuffer values);

	abstract void download();

	public final void use(AssetManager assets) throws Exception {
		try {
			read(assets);
		} catch (Exception e) {
			if (!Mobile.errorCode(e).equals(Mobile.CodeChecksum)) {
				throw e;
			}
			download();
		}
	}

	private void read(AssetManager assets) throws Exception {
		Model model;
		try (AssetFileDescriptor asset = assets.openFd("model.mobi")) {
			model = Mobile.openDescriptor(asset.getParcelFileDescriptor().getFd(),
				asset.getStartOffset(), asset.getLength(), null);
		} // the descriptor may be closed: the mapping stays
		try {
			model.verify(null); // reads the whole file: not on the main thread
			Tensor w = model.tensorNamed("7");
			ByteBuffer bytes = Native.wrap(w.address(), w.byteSize()).asReadOnlyBuffer();
			run(bytes.order(ByteOrder.LITTLE_ENDIAN).asFloatBuffer()); // asReadOnlyBuffer forgets the order
		} finally {
			model.close(); // the buffers are dead from here on
		}
	}
}
