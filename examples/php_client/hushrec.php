<?php
// A list for one person from a hushrec release, written by docs/format.md alone: php hushrec.php RELEASE OWN [N [TIMES]]
// OWN is JSON, {"Alien": 5} or ["Alien"]; so is TIMES, {"Alien": "2026-05-01"}. It needs PHP 8.1 on 64 bits, and no library.

const FACTORS = ["item_factors" => ["items", "rank"]];
const KINDS = [
    "factors" => FACTORS + ["item_effects" => ["items"], "item_noise" => ["items"], "item_popularity" => ["items"]],
    "linear items" => FACTORS + ["input_weights" => ["items"], "output_weights" => ["items"], "intercept" => ["rank"],
        "item_scores" => ["items"]],
    "item scores" => ["item_scores" => ["items"]],
];
const VALUES = ["value_factors" => "F32", "value_counts" => "F32", "value_direction" => "F32", "value_starts" => "I32",
    "value_columns" => "I32", "value_weights" => "F32"];
const SLOPES = ["effect_slope", "popularity_slope", "slope_odds"];
const CAVEATS = ["unprotected" => "NOT PRIVATE", "convergence" => "CONDITIONAL ON CONVERGENCE",
    "groups" => "GROUPS NOT COVERED", "author" => "AUTHOR'S CLAIM"];

function demand(bool $holds, string $otherwise): void { if (!$holds) throw new RuntimeException($otherwise); }
function dot(array $a, array $b): float { return array_sum(array_map(fn($x, $y) => $x * $y, $a, $b)); }

/** JSON, measured before it is parsed: brackets take a hundred times their size in memory. */
function parsed(string $text): array {
    demand(substr_count($text, "[") + substr_count($text, "{") <= 65536 + strlen($text) / 16, "more brackets than facts have");
    return json_decode($text, true, 512, JSON_THROW_ON_ERROR);
}

/** A figure rounded up to six significant digits, as C prints it with %.6g. */
function above(?float $figure): string {
    if ($figure === null) return "∞";
    $near = sprintf("%.5e", $figure);
    if ((float) $near < $figure) $near = sprintf("%.5e", (float) $near + 10 ** (explode("e", $near)[1] - 5));
    [$mantissa, $power] = explode("e", $near);
    if ($power >= -4 && $power < 6) return (string) (float) $near;
    return rtrim(rtrim($mantissa, "0"), ".") . sprintf("e%s%02d", $power < 0 ? "-" : "+", abs((int) $power));
}

/** The headline that the facts of a statement give. */
function headline(array $statement): string {
    $kinds = array_map(fn($caveat) => explode(".", $caveat["name"])[0], $statement["caveats"]);
    demand(!array_diff($kinds, array_keys(CAVEATS)), "the statement has a caveat of an unknown kind");
    $first = $kinds ? CAVEATS[$kinds[0]] : null;
    if (in_array("unprotected", $kinds, true) || !$statement["measurements"]) return $first ?? "nothing was measured";
    [$epsilon, $delta, $per] = [above($statement["epsilon"]), above($statement["delta"]), "per {$statement["unit"]}"];
    return $first ? "$first: ε = $epsilon $per" : "ε = $epsilon at δ = $delta $per, {$statement["adjacency"]}";
}

/** Tensors by name: rows of matrices, numbers of vectors. They fill the file without gaps, and are finite. */
function tensors(array $header, string $data): array {
    uasort($header, fn($a, $b) => $a["data_offsets"] <=> $b["data_offsets"]);
    [$tensors, $filled] = [[], 0];
    foreach ($header as $name => ["dtype" => $type, "shape" => $shape, "data_offsets" => [$start, $end]]) {
        $fits = $start === $filled && $end === $start + 4 * array_product($shape) && $end <= strlen($data);
        demand($fits && $type === (VALUES[$name] ?? "F32"), "tensor $name is out of place, or of another type");
        $values = array_values(unpack($type === "F32" ? "g*" : "V*", substr($data, $start, $end - $start)));
        $least = in_array($name, ["item_noise", "item_popularity"]) ? PHP_FLOAT_MIN / 2 ** 52 : -PHP_FLOAT_MAX;
        foreach ($values as $value) demand($value >= $least && $value <= PHP_FLOAT_MAX, "tensor $name is out of range");
        if (count($shape) === 2) $values = $shape[1] ? array_chunk($values, $shape[1]) : array_fill(0, $shape[0], []);
        $tensors[$name] = ["shape" => $shape, "rows" => $values];
        $filled = $end;
    }
    demand($filled === strlen($data), "the file holds more than its tensors");
    return $tensors;
}

/** The facts and tensors of a release, once everything is checked that is computed with. */
function release(string $bytes): array {
    $size = unpack("P", $bytes)[1];
    demand(strlen($bytes) <= 2 ** 30 && $size >= 0 && $size <= min(1e8, strlen($bytes) - 8), "no release, or too large");
    $before = '{"__metadata__":{"hushrec":"{\"sha256\":\"';
    $digest = hash("sha256", substr($bytes, 8 + strlen($before) + 64));
    demand(str_starts_with(substr($bytes, 8), $before . $digest), "it is no release, or was altered");
    $header = parsed(substr($bytes, 8, $size));
    $facts = parsed($header["__metadata__"]["hushrec"]);
    ["kind" => $kind, "items" => $items, "statement" => $statement] = $facts;
    demand($facts["format"] === 8 && isset(KINDS[$kind]), "it has another format or kind");
    $tensors = tensors(array_diff_key($header, ["__metadata__" => 0]), substr($bytes, 8 + $size));
    $names = KINDS[$kind] + (isset($facts["values"]) ? VALUES : []);
    demand(!array_diff_key($names, $tensors) && count($tensors) === count($names), "its tensors are not those of its kind");
    $sizes = ["items" => count($items), "rank" => $tensors["item_factors"]["shape"][1] ?? 0];
    foreach (KINDS[$kind] as $name => $dimensions) {
        $shape = array_map(fn($dimension) => $sizes[$dimension], $dimensions);
        demand($tensors[$name]["shape"] === $shape && $sizes["rank"] <= 2048, "tensor $name has another shape");
    }
    [$lo, $hi, $step] = $facts["scale"] ?? [0, 1, 1];
    $rates = isset($facts["scale"]) && !isset($facts["likes"]); // else it only ranks
    demand($lo < $hi && $step > 0 && $rates === ($kind === "factors"), "its kind does not fit what people give");
    $slopes = array_intersect(SLOPES, array_keys($facts["constants"])) ? SLOPES : [];
    foreach ($rates ? ["user_variance", ...$slopes] : [] as $name)
        demand(abs(log10($facts["constants"][$name])) <= 30, "the constant $name is out of range");
    demand(count(array_flip($items)) === count($items) && $statement["version"] === 3, "an id twice, or another version");
    demand($statement["said"]["headline"] === headline($statement), "its headline is not that of its figures");
    $tensors = array_map(fn($tensor) => $tensor["rows"], $tensors);
    return ["places" => array_flip($items), "rates" => $rates, "slopes" => $slopes] + $tensors + $facts;
}

/** What one person gave, as numbers by position, ascending; and the ids that are not used. */
function given(array $release, array|object $own): array {
    [$lo, $hi] = $release["scale"] ?? [1, $release["counts"] ?? 1];
    $counted = isset($release["counts"]);
    if (is_array($own)) $own = array_map(fn($times) => $counted ? $times : $hi, array_count_values($own));
    $known = array_intersect_key((array) $own, $release["places"]);
    demand($known || !(array) $own, "nothing of what was given is in the catalogue");
    [$numbers, $ignored] = [[], []];
    foreach ((array) $own as $id => $number) { // PHP makes the key "7" a number, and finds it as such
        $place = $release["places"][$id] ?? null;
        if ($counted) $number = floor($number + 0.5);
        if ($place === null || ($counted && $number < 1)) $ignored[] = (string) $id;
        else $numbers[$place] = min(max($number, $lo), $hi);
    }
    ksort($numbers);
    return [$numbers, $ignored];
}

/** Weights of the own items that are used: stars of the middle half, and less the more of the others are later. */
function weights(array $release, array $numbers, array $times): array {
    [$lo, $hi, $step] = $release["scale"] ?? [0, 0, 0];
    $weight = fn($number) => $number >= ($release["likes"] ?? 0) - $step / 2 ? 1 : ($number >= ($lo + $hi) / 2 ? 0.5 : 0);
    $weights = array_filter(array_map($weight, $numbers));
    $of = fn($item) => $times[$release["items"][$item]] ?? -INF;
    $later = fn($item) => count(array_filter(array_keys($weights), fn($other) => $of($other) > $of($item)));
    foreach ($weights as $item => $weight) $used[$item] = $weight / sqrt(1 + $later($item));
    return $used ?? [];
}

/** p = A⁻¹ c with A = I + Σ x xᵀ/τ² and c = Σ x r/τ²; c · p; and log det A. */
function folded(array $release, array $x, array $residuals): array {
    $width = count($x[0] ?? []);
    [$c, $a] = [array_fill(0, $width, 0.0), array_fill(0, $width, array_fill(0, $width, 0.0))];
    for ($k = 0; $k < $width; $k++) $a[$k][$k] = 1.0;
    foreach ($residuals as $item => $residual) {
        foreach ($x[$item] as $i => $part) {
            foreach ($x[$item] as $j => $other) $a[$i][$j] += $part * $other / $release["item_noise"][$item];
            $c[$i] += $part * $residual / $release["item_noise"][$item];
        }
    }
    [$p, $log] = [$c, 0.0];
    for ($k = 0; $k < $width; $k++) { // A is positive definite: elimination needs no pivots
        $log += log($a[$k][$k]);
        for ($i = 0; $i < $width; $i++) {
            $factor = $i === $k ? 0 : $a[$i][$k] / $a[$k][$k];
            for ($j = $k; $j < $width; $j++) $a[$i][$j] -= $factor * $a[$k][$j];
            $p[$i] -= $factor * $p[$k];
        }
    }
    for ($i = 0; $i < $width; $i++) $p[$i] /= $a[$i][$i];
    return [$p, dot($c, $p), $log];
}

function ratings(array $release, array $numbers): array {
    ["constants" => $constants, "item_popularity" => $popularity, "scale" => [$lo, $hi]] = $release;
    $effects = array_map(fn($effect) => $effect + $constants["user_mean"], $release["item_effects"]);
    foreach ($numbers as $item => $rating) $numbers[$item] = $rating - $effects[$item];
    $x = array_map(fn($row) => [sqrt($constants["user_variance"]), ...$row], $release["item_factors"]);
    [$p, $explained, $log] = folded($release, $x, $numbers);
    if ($release["slopes"]) {
        $logs = array_map("log1p", $popularity);
        foreach ([[$effects, "effect_slope"], [$logs, "popularity_slope"]] as [$column, $slope]) {
            $mean = dot($column, $popularity) / array_sum($popularity);
            foreach ($x as $item => $_) $x[$item][] = sqrt($constants[$slope]) * ($column[$item] - $mean);
        }
        [$sloped, $more, $logMore] = folded($release, $x, $numbers);
        $odds = log($constants["slope_odds"]) + ($more - $explained - max($logMore - $log, 0)) / 2;
        $share = 1 / (1 + exp(-min(max($odds, -700), 700)));
        $p = array_map(fn($with, $without) => $share * $with + (1 - $share) * $without, $sloped, [...$p, 0, 0]);
    }
    return array_map(fn($effect, $row) => min(max($effect + dot($row, $p), $lo), $hi), $effects, $x);
}

function scores(array $release, array $numbers): array {
    if ($release["kind"] === "item scores" || (!$release["rates"] && !$numbers)) return $release["item_scores"];
    $factors = $release["item_factors"];
    if ($release["rates"]) {
        $span = $release["scale"][1] - $release["scale"][0];
        $start = fn($item) => $release["item_effects"][$item] + $release["constants"]["user_mean"] - $span / 2;
        foreach ($numbers as $item => $rating) $numbers[$item] = $rating - $start($item);
        [$q] = folded($release, $factors, $numbers);
        return array_map(fn($count, $f) => log($count) + 2 / $span * dot($f, $q), $release["item_popularity"], $factors);
    }
    foreach ($numbers as $item => $weight) $numbers[$item] = $weight * $release["input_weights"][$item];
    $vector = array_map(fn($part) => sqrt(dot($numbers, $numbers)) * $part, $release["intercept"]);
    foreach ($numbers as $item => $a) $vector = array_map(fn($sum, $g) => $sum + $a * $g, $vector, $factors[$item]);
    return array_map(fn($b, $g) => $b * dot($g, $vector), $release["output_weights"], $factors);
}

// A crafted file can make PHP warn or throw of anything; the answer is the same.
set_error_handler(fn($level, $message) => throw new RuntimeException($message));
set_exception_handler(fn($error) => fwrite(STDERR, "refused: {$error->getMessage()}\n") && exit(1));
$release = release(file_get_contents($argv[1], length: 2 ** 30 + 1));
$own = json_decode($argv[2], false, 9, JSON_THROW_ON_ERROR);
$times = isset($argv[4]) ? json_decode($argv[4], true, 9, JSON_THROW_ON_ERROR) : (is_array($own) ? array_flip($own) : []);
[$numbers, $ignored] = given($release, $own);
$used = $release["rates"] ? $numbers : weights($release, $numbers, $times);
$scores = array_diff_key(scores($release, $used), $numbers);
arsort($scores); // PHP sorts stably, so ties stay in the catalogue's order
$ratings = $release["rates"] ? ratings($release, $numbers) : [];
$row = fn($at) => ["item" => $release["items"][$at], "score" => $scores[$at], "rating" => $ratings[$at] ?? null];
$list = array_map($row, array_slice(array_keys($scores), 0, (int) ($argv[3] ?? 10)));
$told = ["headline" => $release["statement"]["said"]["headline"], "ignored" => $ignored, "list" => $list];
echo json_encode($told, JSON_PRETTY_PRINT | JSON_UNESCAPED_UNICODE | JSON_PRESERVE_ZERO_FRACTION), "\n";
