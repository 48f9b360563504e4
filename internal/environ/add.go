package environ

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// add sets what the script gets besides the variables of its environment. What hermes-exec needs
// comes last, so that nothing can spoil it.
func (b *builder) add() {
	b.zone()
	if b.Home != "" && (b.HomeBad || b.get("HOME") == "") {
		b.give("HOME", b.Home)
	}
	for _, name := range slices.Sorted(maps.Keys(b.Set)) {
		if value := b.Set[name]; valid(name, value) && !b.refused(name) {
			b.give(name, value)
		}
	}
	b.pythonPath()
	b.give("PYTHONDONTWRITEBYTECODE", "1")
	b.give("PYTHONUTF8", "1")
	b.give("PYTHONUNBUFFERED", "1")
	for name, value := range b.RPC {
		b.give(name, value)
	}
}

// give sets a variable that the filter may have dropped before.
func (b *builder) give(name, value string) {
	b.set(name, value)
	b.report.Dropped = slices.DeleteFunc(b.report.Dropped, func(other string) bool { return b.fold(other) == b.fold(name) })
}

// zone sets TZ, to nothing that Python would silently take for UTC. The C library of Windows takes
// the name of a zone for an offset of zero, and so do others without zone files: there TZ stays what it is.
func (b *builder) zone() {
	_, err := time.LoadLocation(b.Timezone)
	switch {
	case b.Timezone == "":
	case err != nil || b.Timezone == "Local":
		b.report.Warnings = append(b.report.Warnings, fmt.Sprintf("timezone %q is not known: TZ is left alone", b.Timezone))
	case b.OS == "windows":
		b.report.Warnings = append(b.report.Warnings,
			fmt.Sprintf("timezone %s is not applied: Windows knows no IANA names in TZ", b.Timezone))
	case b.NoZones && b.Timezone != "UTC":
		b.report.Warnings = append(b.report.Warnings,
			fmt.Sprintf("timezone %s is not applied: the environment has no zone files (the package tzdata)", b.Timezone))
	default:
		b.give("TZ", b.Timezone)
	}
}

// pythonPath puts our directories before the user's.
func (b *builder) pythonPath() {
	separator := ":"
	if b.OS == "windows" {
		separator = ";"
	}
	dirs := slices.DeleteFunc([]string{b.Staging, b.Cwd, b.get("PYTHONPATH")}, func(dir string) bool { return dir == "" })
	if len(dirs) > 0 {
		b.set("PYTHONPATH", strings.Join(dirs, separator))
	}
}
