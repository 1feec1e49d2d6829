package com.example;

import android.content.res.AssetManager;
import io.github.weightmap.WeightFile;
import io.github.weightmap.WeightmapException;
import io.github.weightmap.mobile.Canceler;
import java.io.IOException;
import java.nio.FloatBuffer;

/** Sample passes weights of a model among the app's assets to the app, without a copy. */
public abstract class Sample {
	abstract float run(FloatBuffer values);

	abstract void download();

	private final Canceler canceler = new Canceler();

	public final void cancel() { // from any thread
		canceler.cancel();
	}

	public final void use(AssetManager assets) throws IOException {
		try (WeightFile model = WeightFile.openAsset(assets, "model.mobi")) {
			model.verify(null, canceler); // reads the whole file: not on the main thread
			model.withFloats("fc.weight", values -> run(values)); // valid in the block only
		} catch (WeightmapException e) {
			switch (e.code) {
			case CHECKSUM:
			case TRUNCATED:
				download();
				break;
			case CANCELED:
				break;
			default:
				throw e;
			}
		}
	}
}
