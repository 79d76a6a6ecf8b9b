package dev.vouch.test;

import java.io.File;
import java.net.MalformedURLException;
import java.net.URL;
import java.net.URLClassLoader;
import java.util.ArrayList;
import java.util.List;

/**
 * Loads a second copy of all classes of the class path, as each application in a server has its own
 * copy.
 */
public final class SecondCopy {
    private SecondCopy() {}

    /** The class loader of the second copy. */
    public static URLClassLoader loader() throws MalformedURLException {
        List<URL> path = new ArrayList<>();
        for (String entry : System.getProperty("java.class.path").split(File.pathSeparator)) {
            path.add(new File(entry).toURI().toURL());
        }
        return new URLClassLoader(path.toArray(new URL[0]), ClassLoader.getSystemClassLoader().getParent());
    }
}
