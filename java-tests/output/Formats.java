/*
 * All formats of one run must agree, since a user may open one in a browser and read another in a
 * script. They have the same total weight and the same hottest method. Flame-graph tools can read
 * every folded line. A frame's width in the picture is its method's time.
 *
 * @test
 * @summary .json, .json.gz, .folded and .svg of one run agree
 * @key newest
 * @library /lib
 * @build dev.vouch.test.*
 * @run main Formats
 */

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

import dev.vouch.test.Burn;
import dev.vouch.test.Check;
import dev.vouch.test.Profile;
import dev.vouch.test.Run;
import dev.vouch.test.Vm;

public class Formats {
    public static void main(String[] args) throws IOException {
        Run run = Vm.with("out=profile.json.gz,out=profile.folded,out=profile.svg,interval=1ms").run(Program.class).ok();

        Profile plain = run.profile();
        long weight = plain.weight();
        Check.atLeast(250, weight, "weight of all samples of a program that burns 300 ms");
        Check.equal(run.report().signals() - run.report().samples("dropped"), plain.samples().size(), "samples in the file");

        Profile packed = Profile.read(run.dir.resolve("profile.json.gz"));
        Check.equal(plain.selfByFunction(), packed.selfByFunction(), "weight by function, .json and .json.gz");
        Check.equal(plain.names(), packed.names(), "names of the threads, .json and .json.gz");

        List<String> lines = Files.readAllLines(run.dir.resolve("profile.folded"), StandardCharsets.UTF_8);
        Map<String, Long> folded = new HashMap<>();
        Map<String, Long> stacks = new HashMap<>();
        for (String line : lines) {
            Check.that(line.matches("[^;]+(;[^;]+)* [1-9][0-9]*"), "a line that is not `frame;frame weight`: <" + line + ">");
            String stack = line.substring(0, line.lastIndexOf(' '));
            long count = Long.parseLong(line.substring(line.lastIndexOf(' ') + 1));
            Check.that(stacks.put(stack, count) == null, "a stack that stands twice: " + stack);
            folded.merge(stack.substring(stack.lastIndexOf(';') + 1), count, Long::sum);
        }
        Check.equal(weight, stacks.values().stream().mapToLong(Long::longValue).sum(), "weight of the folded stacks");
        Check.equal(plain.selfByFunction(), folded, "weight by function, .json and .folded");

        String hottest = Collections.max(folded.entrySet(), Map.Entry.comparingByValue()).getKey();
        Check.equal("dev.vouch.test.Burn.work", hottest, "hottest method of a program that runs nothing else");
        // Folded stacks merge lines, so this comparison does too.
        Map<String, Long> byStack = new HashMap<>();
        plain.samples().forEach(sample -> {
            StringBuilder stack = new StringBuilder();
            sample.functions().forEach(function -> stack.insert(0, stack.length() == 0 ? function : function + ";"));
            byStack.merge(stack.toString(), sample.weight, Long::sum);
        });
        Check.equal(byStack, stacks, "weight by stack, .json and .folded");

        // In such a short run no frame is too narrow to be drawn.
        String picture = new String(Files.readAllBytes(run.dir.resolve("profile.svg")), StandardCharsets.UTF_8);
        Matcher frame = Pattern.compile("<title>(.*?) \\(([0-9,]+) ms, ").matcher(picture);
        Map<String, Long> wide = new HashMap<>();
        while (frame.find()) {
            wide.merge(frame.group(1), Long.parseLong(frame.group(2).replace(",", "")), Long::sum);
        }
        wide.keySet().retainAll(Arrays.asList("all", hottest));
        long under = stacks.entrySet().stream().filter(stack -> Arrays.asList(stack.getKey().split(";")).contains(hottest))
                .mapToLong(Map.Entry::getValue).sum();
        Map<String, Long> expected = new HashMap<>();
        expected.put("all", weight);
        expected.put(hottest, under);
        Check.equal(expected, wide, "how wide the picture and its hottest method are");
    }

    static class Program {
        public static void main(String[] args) {
            Burn.millis(300);
        }
    }
}
