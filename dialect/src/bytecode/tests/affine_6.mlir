#map = affine_map<(d0) -> (d0)>
#map1 = affine_map<() -> ()>
#map2 = affine_map<(d0, d1) -> (d1, d0)>
#map3 = affine_map<(d0, d1, d2) -> (d2, d0)>
#map4 = affine_map<(d0, d1)[s0] -> (d1, d0 mod 4 + s0 * 3, d0 floordiv 2, d1 ceildiv 5, -7)>
#map5 = affine_map<(d0, d1)[s0] -> ((d0 + 1) * 2 - d1, d0 - 3, -d0, d0 - d1 * 2, d0 * -2, (d0 mod 3) floordiv 2 - s0)>
#set = affine_set<(d0)[s0] : (d0 - s0 >= 0, d0 == 0)>
module {
  "other.maps"() {a = #map, b = #map1, c = #map2, d = #map3, e = #map4, f = #map5, g = #set, h = strided<[1, ?], offset: 3>, i = strided<[2]>} : () -> () loc(#loc1)
} loc(#loc)
#loc = loc("-":1:1)
#loc1 = loc("-":2:3)
