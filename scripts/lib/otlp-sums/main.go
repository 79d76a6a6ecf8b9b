// Command otlp-sums adds up the values of OpenTelemetry's profiles, as the Collector's own decoder
// reads them. It prints lines with tabs, sorted:
//
//	method TYPE UNIT NAME ALONE ALL      the sums of a method: on top, and anywhere in the stack
//	label TYPE UNIT KEY VALUE SUM        the sum of all samples with this attribute
//	trace TYPE UNIT TRACE SPAN SUM       the sum of all samples with this link
//	frames KEY VALUE COUNT               the locations with this attribute
//	resource KEY VALUE COUNT             the resources with this attribute
//
// It must never use Vouch's own reader.
package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"log"
	"os"
	"sort"
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"
)

// sums has the lines by their text without the numbers.
type sums map[string][]int64

func (s sums) add(values []int64, columns ...string) {
	key := strings.Join(columns, "\t")
	for len(s[key]) < len(values) {
		s[key] = append(s[key], 0)
	}
	for at, value := range values {
		s[key][at] += value
	}
}

func main() {
	log.SetFlags(0)
	if len(os.Args) < 2 {
		log.Fatal("usage: otlp-sums FILE…")
	}
	s := sums{}
	for _, name := range os.Args[1:] {
		if err := s.file(name); err != nil {
			log.Fatalf("%s: %v", name, err)
		}
	}
	var lines []string
	for key, values := range s {
		for _, value := range values {
			key += fmt.Sprintf("\t%d", value)
		}
		lines = append(lines, key)
	}
	sort.Strings(lines)
	fmt.Println(strings.Join(lines, "\n"))
}

// file adds a file to the sums. A file with gzip's first bytes is unpacked.
func (s sums) file(name string) error {
	data, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	if bytes.HasPrefix(data, []byte{0x1f, 0x8b}) {
		unpacked, err := gzip.NewReader(bytes.NewReader(data))
		if err != nil {
			return err
		}
		if data, err = io.ReadAll(unpacked); err != nil {
			return err
		}
	}
	profiles, err := (&pprofile.ProtoUnmarshaler{}).UnmarshalProfiles(data)
	if err != nil {
		return err
	}
	dictionary := profiles.Dictionary()
	for _, location := range dictionary.LocationTable().All() {
		for key, value := range attributes(dictionary, location.AttributeIndices()) {
			s.add([]int64{1}, "frames", key, value)
		}
	}
	for _, resource := range profiles.ResourceProfiles().All() {
		for key, value := range resource.Resource().Attributes().All() {
			s.add([]int64{1}, "resource", key, value.AsString())
		}
		for _, scope := range resource.ScopeProfiles().All() {
			for _, profile := range scope.Profiles().All() {
				s.profile(dictionary, profile)
			}
		}
	}
	return nil
}

func (s sums) profile(dictionary pprofile.ProfilesDictionary, profile pprofile.Profile) {
	text := dictionary.StringTable().At
	measure := text(int(profile.SampleType().TypeStrindex())) + "\t" + text(int(profile.SampleType().UnitStrindex()))
	for _, sample := range profile.Samples().All() {
		sum := int64(0)
		for _, value := range sample.Values().All() {
			sum += value
		}
		seen := map[string]bool{}
		stack := dictionary.StackTable().At(int(sample.StackIndex()))
		for _, index := range stack.LocationIndices().All() {
			for _, line := range dictionary.LocationTable().At(int(index)).Lines().All() {
				name := text(int(dictionary.FunctionTable().At(int(line.FunctionIndex())).NameStrindex()))
				if len(seen) == 0 {
					s.add([]int64{sum, 0}, "method", measure, name)
				}
				if !seen[name] {
					s.add([]int64{0, sum}, "method", measure, name)
				}
				seen[name] = true
			}
		}
		for key, value := range attributes(dictionary, sample.AttributeIndices()) {
			s.add([]int64{sum}, "label", measure, key, value)
		}
		if sample.LinkIndex() != 0 {
			link := dictionary.LinkTable().At(int(sample.LinkIndex()))
			s.add([]int64{sum}, "trace", measure, link.TraceID().String(), link.SpanID().String())
		}
	}
}

// attributes returns the attributes at these rows. A key that is there twice is an error.
func attributes(dictionary pprofile.ProfilesDictionary, indices pcommon.Int32Slice) map[string]string {
	all := map[string]string{}
	for _, index := range indices.All() {
		attribute := dictionary.AttributeTable().At(int(index))
		key := dictionary.StringTable().At(int(attribute.KeyStrindex()))
		if _, known := all[key]; known {
			log.Fatalf("a sample or frame has the attribute %s twice", key)
		}
		all[key] = attribute.Value().AsString()
	}
	return all
}
