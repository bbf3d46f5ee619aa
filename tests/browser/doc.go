// SPDX-License-Identifier: Apache-2.0

// Package browser runs headless Chromium for tests of pages, by chromedp: [Open] starts one, whose
// errors fail the test. [Page.Axe] judges a page by axe-core (folder axe, version 4.14.1, MPL-2.0,
// as in its npm package), which no program contains.
package browser
