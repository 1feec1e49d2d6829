package mobi
