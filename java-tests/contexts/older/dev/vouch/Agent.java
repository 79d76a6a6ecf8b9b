package dev.vouch;

/** The agent's interface to a library of another version, as far as both have to agree. */
public final class Agent {
    private static final int PROTOCOL = -7;

    private Agent() {}

    /** Says whether a library of this version recognises the agent. */
    public static boolean isHere() {
        return protocol() == PROTOCOL;
    }

    private static native int protocol();
}
