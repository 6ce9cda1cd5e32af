// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"cmp"
	"slices"
	"time"
)

// Class says who waits for a run.
type Class int

const (
	// Urgent runs are requests of people and deletions.
	Urgent Class = iota
	// Changed runs follow a changed input.
	Changed
	// Review runs are speculative plans, such as those of pull requests. They change nothing.
	Review
	// Drift runs are drift checks.
	Drift

	classes = int(Drift) + 1
)

func (c Class) String() string {
	switch c {
	case Urgent:
		return "urgent"
	case Changed:
		return "changed"
	case Review:
		return "review"
	}
	return "drift"
}

// Item is a waiting run.
type Item struct {
	ID    string
	Group string
	// Place is where the run may execute; see Next.
	Place string
	Class Class
	// Since is when it began to wait.
	Since time.Time
	// Cost is its expected duration, which its group is charged for. Zero counts as a second.
	Cost time.Duration
}

// DefaultAging is how long an item waits before it counts as the next higher class.
const DefaultAging = 10 * time.Minute

// Queue holds waiting runs and counts executing ones. Use New to create one.
type Queue struct {
	aging time.Duration
	limit func(group string) int
	// reviews is the maximum of running Review items; 0 for any number.
	reviews int
	groups  map[string]*group
	// where finds an item's group.
	where map[string]*group
	// now is the share that groups start with: the least that any had when last served.
	now     time.Duration
	waiting int
}

// group is one namespace's part.
type group struct {
	name string
	// used is how much of the runners' time it has had, in the queue's time.
	used    time.Duration
	items   [classes][]Item
	running map[string]Class
	// aged is true if its last run counted as a higher class than its own. The next run is one that
	// really has the class, or people's requests would come last in a queue of old runs.
	aged bool
}

// New returns an empty queue. Items count as one class higher after each aging; 0 means
// DefaultAging. limit is the maximum of running items in a group; 0 or a nil func means any number.
func New(aging time.Duration, limit func(group string) int) *Queue {
	if aging == 0 {
		aging = DefaultAging
	}
	if limit == nil {
		limit = func(string) int { return 0 }
	}
	return &Queue{aging: aging, limit: limit, groups: map[string]*group{}, where: map[string]*group{}}
}

// BoundReviews limits the Review items that run at a time, in all groups and places together; 0 means any number.
func (q *Queue) BoundReviews(most int) { q.reviews = most }

// runningOf counts the running items of a class.
func (q *Queue) runningOf(class Class) (n int) {
	for _, g := range q.groups {
		for _, c := range g.running {
			if c == class {
				n++
			}
		}
	}
	return n
}

// Len counts waiting items.
func (q *Queue) Len() int { return q.waiting }

// Add queues an item. A waiting one stays as it is; a running one waits again.
func (q *Queue) Add(it Item) {
	g := q.where[it.ID]
	if g != nil {
		if _, runs := g.running[it.ID]; !runs {
			return
		}
		q.Done(it.ID)
	}
	if g = q.group(it.Group); g.idle() {
		g.used = max(g.used, q.now)
	}
	line := g.items[it.Class]
	at, _ := slices.BinarySearchFunc(line, it, older)
	g.items[it.Class] = slices.Insert(line, at, it)
	q.where[it.ID] = g
	q.waiting++
}

// group is the group by its name, new if needed.
func (q *Queue) group(name string) *group {
	g := q.groups[name]
	if g == nil {
		g = &group{name: name, used: q.now, running: map[string]Class{}}
		q.groups[name] = g
	}
	return g
}

func older(a, b Item) int {
	return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.ID, b.ID))
}

func (g *group) idle() bool {
	return len(g.running) == 0 && len(g.items[Urgent])+len(g.items[Changed])+len(g.items[Review])+len(g.items[Drift]) == 0
}

// Remove removes a waiting item and reports whether there was one.
func (q *Queue) Remove(id string) bool {
	g := q.where[id]
	if g == nil {
		return false
	}
	for class := range g.items {
		at := slices.IndexFunc(g.items[class], func(it Item) bool { return it.ID == id })
		if at < 0 {
			continue
		}
		g.items[class] = slices.Delete(g.items[class], at, at+1)
		q.forget(g, id)
		q.waiting--
		return true
	}
	return false
}

// Running counts an item that runs without having been taken from this queue.
func (q *Queue) Running(id, groupName string, class Class) {
	q.Remove(id)
	g := q.group(groupName)
	g.running[id] = class
	q.where[id] = g
}

// Done counts a running item no longer. It ignores any other.
func (q *Queue) Done(id string) {
	g := q.where[id]
	if g == nil {
		return
	}
	if _, runs := g.running[id]; !runs {
		return
	}
	delete(g.running, id)
	q.forget(g, id)
}

// forget drops an item, and its group if that is empty. A group that used more than its share is
// kept until the others have caught up, or it would get a new share with every run.
func (q *Queue) forget(g *group, id string) {
	delete(q.where, id)
	if g.idle() && g.used <= q.now {
		delete(q.groups, g.name)
	}
}

// Next takes the item that begins next in a place and counts it as running; false if none may
// begin.
func (q *Queue) Next(now time.Time, place string) (Item, bool) {
	return q.next(now, func(it Item) bool { return it.Place == place })
}

func (q *Queue) next(now time.Time, wanted func(Item) bool) (Item, bool) {
	full := q.reviews > 0 && q.runningOf(Review) >= q.reviews
	fits := func(it Item) bool { return wanted(it) && !(full && it.Class == Review) }
	g, head := q.pick(now, fits)
	if g == nil {
		return Item{}, false
	}
	it := g.items[head.class][head.at]
	g.items[head.class] = slices.Delete(g.items[head.class], head.at, head.at+1)
	g.aged = head.class != head.counts
	q.waiting--
	g.running[it.ID] = it.Class
	q.now = max(q.now, g.used)
	g.used += cmp.Or(it.Cost, time.Second)
	q.sweep()
	return it, true
}

// sweep drops idle groups that have not used more than their share.
func (q *Queue) sweep() {
	for name, g := range q.groups {
		if g.idle() && g.used <= q.now {
			delete(q.groups, name)
		}
	}
}

// head is where a group's next item is: its line, the class that it counts as, and its index.
type head struct {
	class, counts Class
	at            int
}

// pick finds the group to serve, and its next item.
func (q *Queue) pick(now time.Time, fits func(Item) bool) (best *group, next head) {
	for _, g := range q.groups {
		h, ok := g.head(now, q.aging, fits)
		if !ok || q.full(g) {
			continue
		}
		if best == nil || cmp.Or(cmp.Compare(h.counts, next.counts), cmp.Compare(g.used, best.used),
			older(g.items[h.class][h.at], best.items[next.class][next.at])) < 0 {
			best, next = g, h
		}
	}
	return best, next
}

func (q *Queue) full(g *group) bool {
	limit := q.limit(g.name)
	return limit > 0 && len(g.running) >= limit
}

// head finds the group's next item that fits.
func (g *group) head(now time.Time, aging time.Duration, fits func(Item) bool) (next head, ok bool) {
	for c, line := range g.items {
		at := slices.IndexFunc(line, fits)
		if at < 0 {
			continue
		}
		as := aged(line[at], now, aging)
		byRight := g.aged && next.class == next.counts
		if !ok || as < next.counts || as == next.counts && !byRight && older(line[at], g.items[next.class][next.at]) < 0 {
			next, ok = head{Class(c), as, at}, true
		}
	}
	return next, ok
}

func aged(it Item, now time.Time, aging time.Duration) Class {
	if it.Class == Review {
		return Review // nothing that changes something waits for what is only shown
	}
	steps := max(0, int(now.Sub(it.Since)/aging))
	if it.Class == Drift && steps > 0 {
		steps++ // the next higher class of what may change something
	}
	return Class(max(0, int(it.Class)-steps))
}

func anywhere(Item) bool { return true }

// Position is a waiting item in its turn.
type Position struct {
	Item
	// Full is true while its group, or the class Review, has the maximum number running.
	Full bool
}

// Positions lists waiting items in the order in which they would begin if nothing else came, those
// over their group's limit last.
func (q *Queue) Positions(now time.Time) []Position {
	c := q.clone()
	list := make([]Position, 0, c.waiting)
	for _, full := range []bool{false, true} {
		for {
			it, ok := c.next(now, anywhere)
			if !ok {
				break
			}
			// A runner may be free for this item before the earlier ones of its group end.
			c.Done(it.ID)
			list = append(list, Position{Item: it, Full: full})
		}
		c.limit, c.reviews = func(string) int { return 0 }, 0
	}
	return list
}

func (q *Queue) clone() *Queue {
	c := New(q.aging, q.limit)
	c.reviews = q.reviews
	c.now, c.waiting = q.now, q.waiting
	for name, g := range q.groups {
		copied := &group{name: name, used: g.used, aged: g.aged, running: map[string]Class{}}
		for id, class := range g.running {
			copied.running[id] = class
			c.where[id] = copied
		}
		for class, line := range g.items {
			copied.items[class] = slices.Clone(line)
			for _, it := range line {
				c.where[it.ID] = copied
			}
		}
		c.groups[name] = copied
	}
	return c
}

// Line counts the waiting items of one group and class.
type Line struct {
	Group   string
	Class   Class
	Waiting int
	// Oldest is when the first one began to wait.
	Oldest time.Time
}

// Lines counts waiting items by group and class. Its cost depends only on the groups.
func (q *Queue) Lines() []Line {
	var lines []Line
	for _, g := range q.groups {
		for class, items := range g.items {
			if len(items) > 0 {
				lines = append(lines, Line{Group: g.name, Class: Class(class), Waiting: len(items), Oldest: items[0].Since})
			}
		}
	}
	slices.SortFunc(lines, func(a, b Line) int { return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Class, b.Class)) })
	return lines
}
