// The workload `dynamic`: the parts of Groovy that are dispatched at run time, each with its result
// in the answer. All classes must be in this script, which is compiled anew for each round.
class Money {
    final long cents
    Money(long cents) { this.cents = cents }
    Money plus(Money other) { new Money(cents + other.cents) }
    Money multiply(Number times) { new Money((long) (cents * times)) }
    boolean equals(Object other) { other instanceof Money && other.cents == cents }
    int hashCode() { Long.hashCode(cents) }
    String toString() { String.format(Locale.ROOT, '%d.%02d', cents.intdiv(100), cents % 100) }
}

// Methods and properties that exist only at run time.
class Builder {
    def parts = []
    def methodMissing(String name, args) {
        parts << "<$name>"
        args.each { it instanceof Closure ? it.rehydrate(this, this, this).call() : parts << it.toString() }
        parts << "</$name>"
        this
    }
    def propertyMissing(String name) { name.reverse() }
}

// The class of the argument is known only at run time.
def kind(Object o) { 'object' }
def kind(Number n) { 'number' }
def kind(Integer i) { 'integer' }
def kind(CharSequence s) { 'text' }
def kind(List l) { "list of ${l.collect { kind(it) }.unique().join('/')}" }

def dispatch(int n) {
    def values = [1, 2.5d, 'three', [4, 'five'], new Object(), 6L, "s${7}even"]
    def counts = (0..<n).collect { kind(values[it % values.size()]) }.countBy { it }
    counts.sort().collect { key, value -> "$key=$value" }.join(',')
}

def money(int n) {
    def sum = new Money(0)
    n.times { i -> sum += new Money(i) * 2 }
    assert sum == new Money((long) n * (n - 1))
    sum.toString()
}

def collections(int n) {
    def groups = (1..n).findAll { it % 3 }.groupBy { it % 7 }.collectEntries { k, v -> [(k): v.sum()] }
    groups.sort { a, b -> b.value <=> a.value ?: a.key <=> b.key }.values().inject(0) { sum, x -> sum + x }
}

def fibonacci
fibonacci = { int n -> n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2) }

def metaclass(int n) {
    def text = 'abc'
    text.metaClass.shout = { -> delegate.toUpperCase() + '!' }
    def all = new StringBuilder()
    n.times { all << text.shout() << text."${it % 2 ? 'size' : 'length'}"() }
    all.toString().hashCode()
}

def caught(int n) {
    int caught = 0
    n.times {
        try {
            it % 2 ? it.noSuchMethod() : (it as int) / 0
        } catch (MissingMethodException e) {
            caught += 1
        } catch (ArithmeticException e) {
            caught += 100
        }
    }
    caught
}

def built = new Builder().page { title(first); body { p('x'); p('y') } }.parts.join('')
[dispatch(700), money(300), collections(300), fibonacci(12), metaclass(50), caught(20), built].join('|')
