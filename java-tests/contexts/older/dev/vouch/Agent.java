package dev.vouch;

/** The agent's side of a library of another version, as far as the agent and it have to agree. */
public final class Agent {
    private static final int PROTOCOL = -7;

    private Agent() {}

    /** What a library of this version takes the agent for. */
    public static boolean isHere() {
        return protocol() == PROTOCOL;
    }

    private static native int protocol();
}
