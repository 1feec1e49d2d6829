package com.example;

import android.content.res.AssetManager;
import java.nio.FloatBuffer;

/** RunSample runs the published Java sample and prints the values it gets. */
final class RunSample extends Sample {
	@Override
	float run(FloatBuffer values) {
		if (!values.isDirect() || !values.isReadOnly()) {
			throw new AssertionError("not direct and read-only");
		}
		while (values.hasRemaining()) {
			System.out.println(values.get());
		}
		return 0;
	}

	@Override
	void download() {
		System.out.println("download");
	}

	public static void main(String[] args) throws Exception {
		new RunSample().use(new AssetManager(args[0], Long.parseLong(args[1]), Long.parseLong(args[2])));
	}
}
