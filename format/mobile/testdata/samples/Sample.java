package com.example;

import android.content.res.AssetManager;
import java.nio.FloatBuffer;
import mobile.Mobile;
import weightmap.WeightFile;

/** Sample hands weights of a model among the app's assets to the app, without a copy. */
public abstract class Sample {
	abstract void run(FloatBuffer values);

	abstract void download();

	public final void use(AssetManager assets) throws Exception {
		try (WeightFile model = WeightFile.openAsset(assets, "model.mobi")) {
			model.verify(); // reads the whole file: not on the main thread
			run(model.floats("7")); // dead when the model is closed
		} catch (Exception e) {
			switch (Mobile.errorCode(e)) {
			case Mobile.CodeChecksum:
			case Mobile.CodeTruncated:
				download();
				break;
			default:
				throw e;
			}
		}
	}
}
