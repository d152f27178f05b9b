# Sets `report_sources`: results in, the model of a report out, and its drawing as Markdown and HTML. They are part of kbench_client_core.

# The lines of every implementation are counted while the client is built: where it runs there are no sources.
add_executable(kbench_count_lines report/count_lines_main.cc report/line_count.cc)
kbench_common(kbench_count_lines)
target_link_libraries(kbench_count_lines PRIVATE fmt::fmt)
set_target_properties(kbench_count_lines PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR})
file(GLOB counted CONFIGURE_DEPENDS
     ${CMAKE_SOURCE_DIR}/kernels/cpu/*.cc ${CMAKE_SOURCE_DIR}/kernels/cublas/*.cc ${CMAKE_SOURCE_DIR}/kernels/cuda/*.cc ${CMAKE_SOURCE_DIR}/kernels/cuda/*.cu
     ${CMAKE_SOURCE_DIR}/kernels/cuda/*.cuh ${CMAKE_SOURCE_DIR}/kernels/cudnn/*.cc ${CMAKE_SOURCE_DIR}/kernels/python/kbench_kernels/*/*.py)
add_custom_command(
  OUTPUT implementation_lines.cc
  COMMAND kbench_count_lines ${CMAKE_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR}/report/implementation_files.txt implementation_lines.cc
  DEPENDS kbench_count_lines report/implementation_files.txt ${counted}
  COMMENT "Counting lines of code"
  VERBATIM)

set(report_sources
    ${CMAKE_CURRENT_BINARY_DIR}/implementation_lines.cc report/chart.cc report/cost_tables.cc report/costs.cc report/environment_section.cc report/essay.cc
    report/essay_tables.cc report/evidence.cc report/html.cc report/line_count.cc report/lines_of_code.cc report/markdown.cc
    report/model.cc report/plot_launch.cc report/plot_ratio.cc report/plot_roofline.cc report/ratio.cc report/regimes.cc
    report/results_file.cc report/role.cc report/roi_document.cc report/row_tables.cc report/series.cc report/table_cells.cc
    report/truncation.cc)
