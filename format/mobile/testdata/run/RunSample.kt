package com.example

import android.content.res.AssetManager
import java.nio.FloatBuffer

/** RunSample runs the published Kotlin sample and prints the values it gets. */
object RunSample : Sample() {
    override fun run(values: FloatBuffer) {
        check(values.isDirect && values.isReadOnly)
        while (values.hasRemaining()) println(values.get())
    }

    override fun download() = println("download")

    @JvmStatic fun main(args: Array<String>) = use(AssetManager(args[0], args[1].toLong(), args[2].toLong()))
}
