package com.example

import android.content.res.AssetManager
import java.nio.FloatBuffer
import mobile.Mobile
import weightmap.WeightFile

/** Sample hands weights of a model among the app's assets to the app, without a copy. */
abstract class Sample {
    abstract fun run(values: FloatBuffer)

    abstract fun download()

    fun use(assets: AssetManager) {
        try {
            WeightFile.openAsset(assets, "model.mobi").use { model ->
                model.verify() // reads the whole file: not on the main thread
                run(model.floats("7")) // dead when the model is closed
            }
        } catch (e: Exception) {
            when (Mobile.errorCode(e)) {
                Mobile.CodeChecksum, Mobile.CodeTruncated -> download()
                else -> throw e
            }
        }
    }
}
