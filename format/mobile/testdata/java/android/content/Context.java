package android.content;

/** Context stands in for Android's class, which gobind's support code names. */
public class Context {}
