// The workload `script`: well-known algorithms, each with its result in the answer. Use ES5 only.
function queens(n) {
  function place(row, columns, left, right) {
    if (row === n) return 1;
    var found = 0;
    for (var column = 0; column < n; column++) {
      var bit = 1 << column, l = 1 << (row + column), r = 1 << (row - column + n);
      if (!(columns & bit) && !(left & l) && !(right & r)) found += place(row + 1, columns | bit, left | l, right | r);
    }
    return found;
  }
  return place(0, 0, 0, 0);
}

function primes(n) {
  var sieve = [], count = 0;
  for (var i = 2; i < n; i++) {
    if (sieve[i]) continue;
    count++;
    for (var j = i * 2; j < n; j += i) sieve[j] = true;
  }
  return count;
}

// Objects with prototypes, one of them overriding another's method.
function Shape(name) { this.name = name; }
Shape.prototype.area = function () { return 0; };
Shape.prototype.toString = function () { return this.name + ':' + this.area().toFixed(2); };
function Box(side) { Shape.call(this, 'box'); this.side = side; }
Box.prototype = new Shape();
Box.prototype.area = function () { return this.side * this.side; };
function Disc(radius) { Shape.call(this, 'disc'); this.radius = radius; }
Disc.prototype = new Shape();
Disc.prototype.area = function () { return Math.PI * this.radius * this.radius; };

function shapes(n) {
  var all = [];
  for (var i = 0; i < n; i++) all.push(i % 2 ? new Disc(i % 17) : new Box(i % 13));
  all.sort(function (a, b) { return b.area() - a.area() || (a.name < b.name ? -1 : a.name > b.name ? 1 : 0); });
  return all[0] + ' ' + all[n >> 1] + ' ' + all[n - 1];
}

function words(n) {
  var seed = 42, text = '', counts = {}, most = '';
  for (var i = 0; i < n; i++) {
    seed = (seed * 1103 + 12345) % 65536;
    text += 'word' + (seed % 97) + (i % 5 ? ' ' : ', ');
  }
  text.replace(/w(or)d(\d+)/g, function (all, middle, number) {
    counts[number] = (counts[number] || 0) + 1;
    if (!most || counts[number] > counts[most]) most = number;
    return middle;
  });
  var sum = 0, again = JSON.parse(JSON.stringify(counts));
  for (var key in again) sum += again[key];
  return sum + ' ' + text.split(/,\s*/).length;
}

function recursion(depth) {
  if (depth === 0) return 0;
  return 1 + recursion(depth - 1);
}

function thrown(n) {
  var caught = 0;
  for (var i = 0; i < n; i++) {
    try {
      if (i % 3 === 0) throw new Error('number ' + i);
      undefined.field = i;
    } catch (error) {
      caught += error instanceof TypeError ? 2 : 1;
    } finally {
      caught += 10;
    }
  }
  return caught;
}

function everything() {
  return [queens(6), primes(5000), shapes(300), words(1000), recursion(100), thrown(300)].join('|');
}
