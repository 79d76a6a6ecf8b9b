import java.util.Arrays;
import java.util.Random;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.zip.CRC32;

import javax.crypto.Cipher;
import javax.crypto.spec.SecretKeySpec;

/**
 * The worst cases for a stack walker: stubs that the JVM generates by hand, and very short methods.
 * It deletes from string builders, copies and fills arrays, compares strings, reads clocks, sorts
 * and throws. It also uses regular expressions, checksums and encryption. Arguments: seconds.
 */
public final class Adverse {
    private static final Pattern WORD = Pattern.compile("(\\w+)@(\\w+)\\.org");

    private Adverse() {}

    public static void main(String[] args) {
        Random random = new Random(1);
        byte[] bytes = new byte[1 << 16];
        random.nextBytes(bytes);
        Rounds.run(args[0], "adversities", () -> {
            deletes(2_000);
            copies(bytes);
            compares(random, 2_000);
            times(20_000);
            throwing(2_000);
            expressions(300);
            checksums(bytes);
            encrypts(bytes);
        });
    }

    private static void deletes(int times) {
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < times; i++) {
            text.append("0123456789abcdef");
        }
        for (int i = 0; i < times; i++) {
            text.delete(0, 15);
            text.deleteCharAt(0);
        }
        Rounds.same(0, text.length(), "what is left of a text");
    }

    private static void copies(byte[] bytes) {
        byte[] copy = new byte[bytes.length];
        for (int i = 0; i < 300; i++) {
            System.arraycopy(bytes, i, copy, 0, bytes.length - i);
            Arrays.fill(copy, copy.length - 300, copy.length, (byte) i);
        }
        Rounds.same(bytes[299], copy[0], "the first byte of the last copy");
        Rounds.check(Arrays.equals(bytes, bytes.clone()), "a clone is equal");
    }

    private static void compares(Random random, int count) {
        String[] words = new String[count];
        for (int i = 0; i < count; i++) {
            words[i] = "a rather long common beginning " + random.nextInt(count);
        }
        Arrays.sort(words);
        for (int i = 1; i < count; i++) {
            Rounds.check(words[i - 1].compareTo(words[i]) <= 0, "words are sorted");
        }
    }

    private static void times(int count) {
        long before = System.nanoTime();
        for (int i = 0; i < count; i++) {
            long now = System.nanoTime();
            Rounds.check(now >= before && System.currentTimeMillis() > 0, "time goes on");
            before = now;
        }
    }

    private static void throwing(int count) {
        int caught = 0;
        for (int i = 0; i < count; i++) {
            try {
                divide(i, i % 2);
            } catch (ArithmeticException error) {
                caught++;
            }
        }
        Rounds.same(count / 2, caught, "exceptions");
    }

    private static int divide(int number, int by) {
        return number / by;
    }

    private static void expressions(int count) {
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < count; i++) {
            text.append("write to user").append(i).append("@host").append(i % 7).append(".org, ");
        }
        Matcher matcher = WORD.matcher(text);
        int found = 0;
        while (matcher.find()) {
            found += matcher.group(2).startsWith("host") ? 1 : 0;
        }
        Rounds.same(count, found, "addresses");
    }

    private static void checksums(byte[] bytes) {
        long first = 0;
        for (int i = 0; i < 50; i++) {
            CRC32 sum = new CRC32();
            sum.update(bytes, 0, bytes.length);
            first = i == 0 ? sum.getValue() : first;
            Rounds.same(first, sum.getValue(), "checksum");
        }
    }

    private static void encrypts(byte[] bytes) throws Exception {
        SecretKeySpec key = new SecretKeySpec(Arrays.copyOf(bytes, 16), "AES");
        Cipher cipher = Cipher.getInstance("AES/ECB/NoPadding");
        cipher.init(Cipher.ENCRYPT_MODE, key);
        byte[] secret = cipher.doFinal(bytes);
        cipher.init(Cipher.DECRYPT_MODE, key);
        Rounds.check(Arrays.equals(bytes, cipher.doFinal(secret)), "what was encrypted comes back");
    }
}
