package com.example

import android.content.res.AssetManager
import io.github.weightmap.WeightFile
import io.github.weightmap.WeightmapException
import io.github.weightmap.WeightmapException.Code
import io.github.weightmap.mobile.Canceler
import java.nio.FloatBuffer

/** Sample passes weights of a model among the app's assets to the app, without a copy. */
abstract class Sample {
    abstract fun run(values: FloatBuffer)

    abstract fun download()

    private val canceler = Canceler()

    fun cancel() = canceler.cancel() // from any thread

    fun use(assets: AssetManager) {
        try {
            WeightFile.openAsset(assets, "model.mobi").use { model ->
                model.verify(null, canceler) // reads the whole file: not on the main thread
                model.withFloats("fc.weight") { values -> run(values) } // valid in the block only
            }
        } catch (e: WeightmapException) {
            when (e.code) {
                Code.CHECKSUM, Code.TRUNCATED -> download()
                Code.CANCELED -> return
                else -> throw e
            }
        }
    }
}
