// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package dns

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/dns/record"
	"github.com/yuba-dev/yuba/internal/dns/simulate"
)

// simulated is a simulation, for programs.
type simulated struct {
	Host     string           `json:"host"`
	Down     []string         `json:"down"`
	From     string           `json:"from,omitempty"`
	Answers  []simulatedReply `json:"answers"`
	Warnings []string         `json:"warnings"`
}

// simulatedReply is one possible answer.
type simulatedReply struct {
	Type      string   `json:"type"`
	Addresses []string `json:"addresses"`
	Endpoints []string `json:"endpoints"`
	// Share is the part of the clients or queries that get it, between 0 and 1.
	Share float64 `json:"share"`
}

// simulation are the flags.
type simulation struct {
	file, from string
	down       []string
	locations  []string
}

func newSimulateCommand(a *session.App) *cobra.Command {
	var f simulation
	cmd := &cobra.Command{
		Use:   "simulate [NAME]",
		Short: "Show who would get which answer while endpoints are down",
		Long: `Show which addresses a name would answer while the endpoints of --down are down. The command evaluates the very record that is
published, with a model of PowerDNS' functions: it asks neither the DNS server nor the endpoints.

SHARE is the part of the clients that get an answer: of all queries with a random selector, or of all clients with a hashed one, which
always gives the same client the same answer.

For placement Geo, say where the client and the endpoints are, as the server's geoip database does: --from is the client, and --location
gives networks their latitude and longitude. Addresses without a location are at 0,0, as in PowerDNS.`,
		Example: "  yuba dns simulate www\n  yuba dns simulate www --down eu-1 --down eu-2\n" +
			"  yuba dns simulate -f www.yaml --from 203.0.113.7 --location 203.0.113.0/24=52.5,13.4 --location 192.0.2.0/24=50.1,8.7",
		ValidArgsFunction: a.ObjectNames(session.FailoverRecords, false),
		Args: func(cmd *cobra.Command, args []string) error {
			if f.file == "" && len(args) == 0 {
				return ui.UsageErrorf(cmd, "name a FailoverRecord, or a file with one (-f)")
			}
			return ui.Arguments(0, 1)(cmd, args)
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&f.file, "filename", "f", "", "read the FailoverRecord from this file (\"-\" for stdin) instead of from the API")
	flags.StringSliceVar(&f.down, "down", nil, "an endpoint that is down, by name; can be repeated")
	flags.StringVar(&f.from, "from", "", "the address of the client or its resolver, such as 203.0.113.7")
	flags.StringArrayVar(&f.locations, "location", nil, "where a network is, as NETWORK=LATITUDE,LONGITUDE; can be repeated")
	ui.CompleteFlag(cmd, "down", f.endpoints(a))
	ui.Complete(cmd, "from")
	ui.Complete(cmd, "location")
	out := ui.AddOutputFlag(cmd, "json", "yaml")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		object, err := f.find(cmd, a, args)
		if err != nil {
			return err
		}
		result, err := f.run(cmd, &object.Spec)
		if err != nil {
			return err
		}
		if out.Machine() {
			return out.Print(a.Out, result)
		}
		return result.show(a.Console)
	}
	return cmd
}

// endpoints completes the names of the endpoints.
func (f *simulation) endpoints(a *session.App) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) (names []cobra.Completion, _ cobra.ShellCompDirective) {
		if f.file == "" && len(args) == 0 || f.file == "-" {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		object, err := f.find(cmd, a, args)
		if err != nil { // shells show no errors
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		for _, e := range object.Spec.Endpoints {
			if !slices.Contains(f.down, e.Name) {
				names = append(names, e.Name)
			}
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}

func (f *simulation) find(cmd *cobra.Command, a *session.App, args []string) (*yubav1.FailoverRecord, error) {
	if f.file != "" {
		return fromFile(a.Console, f.file, strings.Join(args, ""))
	}
	s, err := a.Connect()
	if err != nil {
		return nil, err
	}
	key, err := s.Stack(cmd, args[0])
	if err != nil {
		return nil, err
	}
	return fromAPI(cmd.Context(), s, key)
}

// run evaluates the records of a spec.
func (f *simulation) run(cmd *cobra.Command, s *yubav1.FailoverRecordSpec) (*simulated, error) {
	spec, err := record.Of(s)
	if err != nil {
		return nil, ui.Exitf(ui.ExitFailure, "the FailoverRecord is not valid: %v", err)
	}
	world, err := f.world(cmd, spec)
	if err != nil {
		return nil, err
	}
	result := &simulated{Host: spec.Host, Down: append([]string{}, f.down...), From: f.from, Answers: []simulatedReply{}, Warnings: append([]string{}, record.Warnings(spec)...)}
	if spec.Check == nil && len(f.down) > 0 {
		result.Warnings = append(result.Warnings, "the record has no spec.check: endpoints that are down are answered as well")
	}
	for _, r := range record.Render(spec) {
		outcomes, err := simulate.Evaluate(r.Code.String(), world)
		if err != nil {
			return nil, err
		}
		for _, o := range outcomes {
			reply := simulatedReply{Type: r.Answers, Share: o.Share}
			for _, address := range o.Addresses {
				reply.Addresses = append(reply.Addresses, address.String())
				reply.Endpoints = append(reply.Endpoints, endpointOf(spec, address))
			}
			slices.Sort(reply.Endpoints)
			reply.Endpoints = slices.Compact(reply.Endpoints)
			result.Answers = append(result.Answers, reply)
		}
	}
	return result, nil
}

func endpointOf(spec record.Spec, address netip.Addr) string {
	for _, e := range spec.Endpoints {
		if slices.Contains(e.Addresses, address) {
			return e.Name
		}
	}
	return ""
}

// world is what the flags say of endpoints and clients.
func (f *simulation) world(cmd *cobra.Command, spec record.Spec) (w simulate.World, err error) {
	w.Down = map[netip.Addr]bool{}
	for _, name := range f.down {
		at := slices.IndexFunc(spec.Endpoints, func(e record.Endpoint) bool { return e.Name == name })
		if at < 0 {
			var names []string
			for _, e := range spec.Endpoints {
				names = append(names, e.Name)
			}
			return w, ui.UsageErrorf(cmd, "--down %s is not an endpoint of %s: its endpoints are %s", name, spec.Host, joined(names))
		}
		for _, a := range spec.Endpoints[at].Addresses {
			w.Down[a] = true
		}
	}
	if f.from != "" {
		if w.From, err = netip.ParseAddr(f.from); err != nil {
			return w, ui.UsageErrorf(cmd, "--from %s is not an IP address", f.from)
		}
	}
	w.Locate, err = locator(cmd, f.locations)
	return w, err
}

// place is a network with its location.
type place struct {
	network  netip.Prefix
	lat, lon float64
}

// locator finds the location of addresses, in the longest network.
func locator(cmd *cobra.Command, texts []string) (func(netip.Addr) (float64, float64), error) {
	var places []place
	for _, text := range texts {
		network, at, _ := strings.Cut(text, "=")
		latitude, longitude, _ := strings.Cut(at, ",")
		if !strings.Contains(network, "/") {
			if a, err := netip.ParseAddr(network); err == nil {
				network = netip.PrefixFrom(a, a.BitLen()).String()
			}
		}
		p, err := netip.ParsePrefix(network)
		lat, err2 := strconv.ParseFloat(strings.TrimSpace(latitude), 64)
		lon, err3 := strconv.ParseFloat(strings.TrimSpace(longitude), 64)
		if err != nil || err2 != nil || err3 != nil || lat < -90 || lat > 90 || lon < -180 || lon > 180 {
			return nil, ui.UsageErrorf(cmd, "--location %s is not NETWORK=LATITUDE,LONGITUDE, such as 203.0.113.0/24=52.5,13.4", text)
		}
		places = append(places, place{p, lat, lon})
	}
	slices.SortStableFunc(places, func(a, b place) int { return b.network.Bits() - a.network.Bits() })
	return func(a netip.Addr) (float64, float64) {
		for _, p := range places {
			if p.network.Contains(a) {
				return p.lat, p.lon
			}
		}
		return 0, 0
	}, nil
}

func (r *simulated) show(c *ui.Console) error {
	if len(r.Down) > 0 {
		c.News("%s while %s is down:", r.Host, joined(r.Down))
	}
	rows := [][]string{{"TYPE", "SHARE", "ANSWER", "ENDPOINTS"}}
	for _, a := range r.Answers {
		rows = append(rows, []string{a.Type, fmt.Sprintf("%.4g%%", a.Share*100), strings.Join(a.Addresses, ","), strings.Join(a.Endpoints, ",")})
	}
	for _, w := range r.Warnings {
		c.News("Warning: %s", w)
	}
	return c.Table(rows, nil)
}

func joined(words []string) string { return strings.Join(words, ", ") }
